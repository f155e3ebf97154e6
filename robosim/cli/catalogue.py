"""``robosim models`` and ``robosim info``: available models, and their properties."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.markup import escape

from robosim.cli import arguments
from robosim.cli.application import app, remark, show
from robosim.cli.loading import World
from robosim.cli.options import with_options
from robosim.cli.tables import (
    contacts_table,
    fit_dictionary,
    fits_table,
    plain_table,
    robot_dictionary,
    robot_tables,
)


@app.command()
def models(as_json: arguments.Json = False) -> None:
    """List the models that can be loaded by name, and their origin.

    [bold]Example:[/bold] robosim models
    """
    from robosim.loaders import available
    from robosim.models import shipped

    found = available()
    if as_json:
        rows = [
            {"name": one.name, "description": one.description, "origin": one.origin}
            for one in found
        ]
        typer.echo(json.dumps(rows, indent=2))
        return
    shipped_names = {one.name for one in shipped()}
    table = plain_table("name", "description", "origin")
    collected: dict[str, list[str]] = {}
    for one in found:
        if one.name in shipped_names:
            table.add_row(escape(one.name), escape(one.description), escape(one.origin))
        else:
            collected.setdefault(one.origin, []).append(one.name)
    show(table)
    for origin, names in collected.items():
        # Descriptions of these models are file paths, which are only for scripts.
        show("", f"[bold]{escape(origin)}[/bold]", escape("  ".join(names)))


@app.command()
@with_options
def info(
    model: arguments.Model,
    loading: World,
    contacts: Annotated[
        bool,
        typer.Option("--contacts", help="Show the contact points of each link, and the reasons."),
    ] = False,
    meshes: Annotated[
        bool,
        typer.Option(
            "--meshes", help="Show how far collision shapes are from the meshes they stand for."
        ),
    ] = False,
    as_json: arguments.Json = False,
) -> None:
    """Show a robot's bodies, joints, degrees of freedom, mass, contacts and warnings.

    [bold]Example:[/bold] robosim info a1
    """
    robot = loading.load(model)
    tables = [] if as_json else robot_tables(robot)
    told: dict[str, object] = robot_dictionary(robot) if as_json else {}
    if contacts:
        from robosim.loaders.contacts import reasons

        choice = "none" if loading.no_ground else loading.links
        why = reasons(robot, choice, **loading.of_hulls)
        told["contact_links"] = why
        tables.append(contacts_table(why))
    if meshes:
        from robosim.loaders.convex import fits

        found = fits(loading.load(model, convex="hull"), loading.meshes)
        told["collision_meshes"] = [fit_dictionary(fit) for fit in found]
        tables.append(fits_table(found))
    if as_json:
        typer.echo(json.dumps(told, indent=2, allow_nan=False))
        return
    for table in tables:
        show(table, "")
    if meshes and (far := [fit.link for fit in found if fit.far]):
        remark(
            "warning: collision shapes are farther from their meshes than a tenth of their size: "
            f"{', '.join(dict.fromkeys(far))}; --convex decompose divides meshes into convex parts"
        )
    for warning in robot.warnings:
        remark(f"warning: {warning}")
