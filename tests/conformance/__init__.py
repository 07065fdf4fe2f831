"""One suite that every make of broker has to pass, through the contract alone."""
