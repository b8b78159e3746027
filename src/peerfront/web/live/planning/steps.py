"""The steps of a planning job, by the names under which its row knows them."""

READING, FITTING, PLANNING, SAVING = "reading", "fitting", "planning", "saving"
