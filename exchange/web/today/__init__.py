"""Makes the rows of Today: what needs somebody, one for each cause, with what can be done about
it."""
