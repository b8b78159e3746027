"""Results into words: the only room that makes sentences for users, for a terminal, a page, a PDF and a workbook."""
