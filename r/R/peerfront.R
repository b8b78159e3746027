# Every function here runs one command of peerfront with `--json` and gives its result as lists and data frames.

#' The program: option `peerfront.program`, the environment variable PEERFRONT, or `peerfront` on the path.
program <- function() {
  named <- getOption("peerfront.program", Sys.getenv("PEERFRONT", "peerfront"))
  path <- Sys.which(named)
  if (!nzchar(path)) {
    stop("peerfront was not found as ", dQuote(named, FALSE), ". Install it, or say where it is: ",
         "options(peerfront.program = \"/path/to/.venv/bin/peerfront\")", call. = FALSE)
  }
  unname(path)
}

peerfront <- function(command, ...) {
  given <- list(...)
  options <- names(given) %||% rep("", length(given))
  folder <- tempfile("peerfront")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  files <- file.path(folder, paste0(make.unique(vapply(substitute(list(...))[-1], name_of, "")), ".rds"))
  words <- c("--json", command, unlist(Map(as_words, options, given, files)))
  answer <- file.path(folder, c("answer.json", "error.json"))
  status <- system2(program(), shQuote(words), stdout = answer[1], stderr = answer[2])
  if (status != 0 && file.size(answer[1]) == 0) stop(as_condition(readLines(answer[2], warn = FALSE), status))
  document <- jsonlite::fromJSON(answer[1], simplifyVector = FALSE)
  structure(as_tables(document$result), class = "peerfront", command = command)
}

pf_check <- function(study, ...) peerfront("check", study, ...)
pf_fit <- function(study, budget, out = tempfile("model"), ...) peerfront("fit", study, budget = budget, out = out, ...)
pf_plan <- function(model, waiting = NULL, ...) peerfront("plan", model, waiting, ...)
pf_forecast <- function(model, waiting = NULL, ...) peerfront("forecast", model, waiting, ...)
pf_week <- function(study, ...) peerfront("week", study, ...)
pf_backtest <- function(study, ...) peerfront("backtest", study, ...)
pf_report <- function(model, study, out, ...) peerfront("report", model, study, out = out, ...)
pf_estimate <- function(study, outcome, ..., out = NULL) peerfront("estimate", study, outcome = outcome, ..., out = out)

#' A design of the package survey: the weights of an outcome, and their replicates, from pf_estimate(..., weights = TRUE).
pf_design <- function(estimates, outcome = 1) {
  if (is.null(estimates$weights)) stop("These estimates have no weights: pf_estimate(..., weights = TRUE).", call. = FALSE)
  row <- if (is.character(outcome)) match(outcome, estimates$weights$outcome) else outcome
  if (!isTRUE(row %in% seq_len(nrow(estimates$weights)))) {
    stop("No weights for outcome ", outcome, "; there are: ", toString(estimates$weights$outcome), call. = FALSE)
  }
  replicates <- do.call(cbind, estimates$weights$replicates[[row]])
  survey::svrepdesign(data = estimates$weights$people[[row]], weights = ~weight, repweights = replicates, type = "bootstrap",
                      combined.weights = TRUE, scale = 1 / (ncol(replicates) - 1), rscales = 1, mse = FALSE)
}

# From R to the command line ------------------------------------------------------------------------------------------

`%||%` <- function(value, otherwise) if (is.null(value)) otherwise else value

#' What a table is called in messages: the name of the variable that holds it.
name_of <- function(argument) if (is.name(argument) && nzchar(argument)) as.character(argument) else "table"

#' The words of one argument: a table is written to `file`, a model is its folder, `name = value` an option, TRUE a bare one,
#' NULL and NA none.
as_words <- function(name, value, file) {
  if (is.null(value) || (is.atomic(value) && length(value) == 1 && is.na(value))) return(character())
  option <- if (nzchar(name)) paste0("--", gsub("_", "-", name, fixed = TRUE)) else character()
  if (inherits(value, "peerfront")) value <- value$model %||% stop("This result names no model: give what pf_fit() gave.")
  if (is.data.frame(value)) {
    saveRDS(value, file)
    value <- file
  }
  if (is.logical(value)) return(if (isTRUE(value)) option else sub("^--", "--no-", option))
  words <- if (is.numeric(value)) format(value, scientific = FALSE, digits = 15, trim = TRUE) else as.character(value)
  if (length(option)) as.vector(rbind(option, words)) else words
}

# From JSON to R ------------------------------------------------------------------------------------------------------

#' Lists of rows become data frames, sentences their text, `null` NA.
as_tables <- function(value) {
  if (!is.list(value)) return(value)
  if (is_sentence(value)) return(value$text)
  if (!is.null(names(value))) return(lapply(value, as_tables))
  if (length(value) && all(vapply(value, is_row, NA))) return(as_frame(value))
  value <- lapply(value, as_tables)
  if (length(value) && all(vapply(value, is_single, NA))) unlist(lapply(value, or_missing)) else value
}

is_sentence <- function(value) is.list(value) && !is.null(names(value)) && is.character(value$text)
is_single <- function(value) is.null(value) || (is.atomic(value) && length(value) == 1)
is_row <- function(value) is.list(value) && !is.null(names(value)) && !is_sentence(value)
or_missing <- function(value) if (is.null(value)) NA else value

as_frame <- function(rows) {
  rows <- lapply(rows, function(row) lapply(lapply(row, as_tables), or_missing))
  columns <- unique(unlist(lapply(rows, names)))
  cells <- lapply(columns, function(column) {
    column <- lapply(rows, function(row) or_missing(row[[column]]))
    if (all(vapply(column, is_single, NA))) unlist(column) else column
  })
  structure(stats::setNames(cells, columns), class = "data.frame", row.names = seq_along(rows))
}

#' The error of a command: its code, its sentence and the arguments that would mend it.
as_condition <- function(lines, status) {
  error <- tryCatch(jsonlite::fromJSON(lines, simplifyVector = FALSE)$error, error = function(no_json) NULL)
  error <- error %||% list(code = "unknown", message = paste(c(lines, paste("exit status", status)), collapse = "\n"))
  remedies <- vapply(error$remedies, function(each) paste0(each$setting, " = ", each$value), "")
  problems <- as_tables(error$problems)
  said <- c(error$message, if (length(remedies)) paste("As an argument:", paste(remedies, collapse = ", ")))
  structure(class = c(error$code, "peerfront_error", "error", "condition"),
            list(message = paste(said, collapse = "\n"), call = NULL, code = error$code, problems = problems))
}

# Results -------------------------------------------------------------------------------------------------------------

print.peerfront <- function(x, ...) {
  lines <- unlist(x$lines)
  if (length(lines)) cat(lines, sep = "\n") else utils::str(unclass(x), max.level = 1, give.attr = FALSE)
  sheet <- if (attr(x, "command") %in% c("plan", "week")) as.data.frame(x)
  if (!is.null(sheet)) print(sheet[sheet$coupons > 0, c("person", "coupons")], row.names = FALSE)
  invisible(x)
}

as.data.frame.peerfront <- function(x, ...) {
  names_of_tables <- list(plan = "table", week = "sheet", forecast = "summary", estimate = "estimates",
                          backtest = "forecasts", check = "problems", design = "estimators")
  command <- attr(x, "command")
  name <- names_of_tables[[command]]
  if (is.null(name)) stop("The result of ", command, " has no main table; it has: ", toString(names(x)), call. = FALSE)
  table <- x[[name]]
  if (is.list(table) && !is.data.frame(table) && length(table)) table <- table$table
  if (length(table)) table else data.frame()
}
