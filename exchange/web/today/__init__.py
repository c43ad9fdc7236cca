"""Today: what needs somebody, one row for each cause, with what can be done about it beside it."""
