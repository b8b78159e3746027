"""Turn results into sentences for users: in a terminal, on a page, in a PDF or a workbook."""
