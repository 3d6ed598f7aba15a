"""Moving values in local memory from one layout to another, or any rearrangement of elements (backend-movement.md)."""
