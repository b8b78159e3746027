"""Read the people of a study's file, in whatever layout: tables, exports, workbooks, RDSAT, survey apps."""
