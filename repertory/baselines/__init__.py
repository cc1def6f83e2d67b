"""What a fixed library of policies is compared with."""
