"""What people build and read: mechanisms and their parts, validated once, of no simulation."""
