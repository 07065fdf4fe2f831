"""Tables computed ahead of the failures (Jia 2014, chapter 6): a base row and a patch per colour."""
