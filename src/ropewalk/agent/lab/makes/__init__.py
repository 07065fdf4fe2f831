"""How to run a broker of each make: `recipe` is what a make has to say; one file per make."""
