"""How the equations of a step are solved: an interior point around Newton's method.

`attempts` tries ever more careful ways, `interior_point` follows one of them, `newton` finds its
directions with contacts condensed. What is left, the equations of bodies and joints and their
elimination, is the business of a scheme: a module that is handed in, `tree.scheme` or
`graph.scheme`. Each has the same functions, by stage of a step:

- start: `place_joints`, `start`, `add_directions`; `guess`, `foretells_contacts`;
- iterations: `place` and `residual` (what is left of the equations), `open_blocks`, `condense` and
  `eliminate` (factors), `solve` (a direction), `joint_rates`, `add_unbalanced`, `keep_direction`
  and `add_direction` (what its refinement needs), `remember` and `step` (along it);
- unknowns: `first_multiplier`, `look_ahead`, `coordinate_rate`, `limits_far`, `finish_poses`;
  `solve_untouched`, a shorter way for what nothing touches;
- bearings: `reaction` of a joint, `find_carried` and `carried` (the same at the second knot);
- end: `end_joints` and `push_joints` (momenta), `hold_bodies`, `solve_held` and `solve_changes`
  (velocities at the knot), `needs_velocities`, `find_rest`;
- state and memory: `read_rates` and `read`, `learn_rates` and `place_next`.
"""
