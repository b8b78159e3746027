test_that("arguments of R become words of the command line", {
  words <- function(name, value) peerfront:::as_words(name, value, tempfile())
  expect_equal(words("valid_days", 30), c("--valid-days", "30"))
  expect_equal(words("by", c("age", "site")), c("--by", "age", "--by", "site"))
  expect_equal(words("strict", TRUE), "--strict")
  expect_equal(words("strict", FALSE), "--no-strict")
  expect_equal(words("", "study.csv"), "study.csv")
  expect_equal(words("budget", 1e6), c("--budget", "1000000"))
  expect_equal(words("budget", NULL), character())
  expect_equal(words("population", NA), character())
  expect_equal(words("population", NA_real_), character())
})

test_that("results become data frames, text and NA", {
  result <- peerfront:::as_tables(list(
    table = list(list(person = "P1", chance = NULL, why = list(code = "a.b", text = "younger")), list(person = "P2", chance = .5, why = "")),
    lines = list("one", "two"), nothing = NULL, groups = list(list(name = "a", members = list("x", "y")))
  ))
  expect_equal(result$table, data.frame(person = c("P1", "P2"), chance = c(NA, .5), why = c("younger", "")))
  expect_equal(result$lines, c("one", "two"))
  expect_equal(result$groups$members, list(c("x", "y")))
})

example <- local({
  folder <- NULL
  function() {
    skip_if(!nzchar(Sys.which(getOption("peerfront.program", Sys.getenv("PEERFRONT", "peerfront")))), "peerfront is not installed")
    if (is.null(folder)) peerfront("example", out = folder <<- tempfile("study"))
    folder
  }
})

test_that("a data frame is read as its file is", {
  file <- file.path(example(), "study.csv")
  study <- read.csv(file, colClasses = "character", na.strings = "")
  expect_equal(pf_check(study)$summary$trees, pf_check(file)$summary$trees)
  estimates <- as.data.frame(pf_estimate(study, "housing", by = "district"))
  expect_s3_class(estimates, "data.frame")
  expect_type(estimates$estimate, "double")
  expect_setequal(subset(estimates, group == "everybody")$category, unique(na.omit(study$housing)))
})

test_that("files are kept where asked, and every result gives its main table or says that it has none", {
  file <- file.path(example(), "study.csv")
  estimates <- pf_estimate(file, "housing", bootstraps = 10, out = folder <- tempfile("estimates"))
  kept <- read.csv(file.path(folder, "estimates.csv"))
  expect_equal(kept$estimate, as.data.frame(estimates)$estimate)
  expect_equal(nrow(as.data.frame(pf_check(file))), 0)
  expect_error(as.data.frame(peerfront("example", out = tempfile("study"))), "no main table")
})

test_that("what is refused is an error with its code", {
  file <- file.path(example(), "study.csv")
  expect_error(pf_estimate(file, "hiv"), class = "names.unknown_but_near")
  study <- read.csv(file, colClasses = "character", na.strings = "")
  expect_error(pf_estimate(study, "hiv"), "study.rds")
  expect_error(pf_plan("no model here", file, budget = 3), class = "saved_fits.no_folder")
  twice <- read.csv(file, colClasses = "character", na.strings = "")[c(1, 1, 2, 3), ]
  refused <- tryCatch(pf_fit(twice, budget = 3), peerfront_error = identity)
  expect_s3_class(refused$problems, "data.frame")
  expect_match(conditionMessage(refused), "repeat|twice|more than once", ignore.case = TRUE)
})

test_that("weights become a design of survey, and a file of R is read as it is", {
  skip_if_not_installed("survey")
  study <- read.csv(file.path(example(), "study.csv"), colClasses = "character", na.strings = "")
  file <- tempfile(fileext = ".RData")
  save(study, file = file)
  estimates <- pf_estimate(file, c("housing", "district"), by = "district", weights = TRUE, bootstraps = 30)
  expect_s3_class(estimates$comparisons, "data.frame")
  people <- estimates$weights$people[[2]]
  expect_setequal(people$outcome, unique(na.omit(study$district)))
  advised <- subset(as.data.frame(estimates), outcome == "district" & group == "everybody" & estimator == "RDS-I")
  found <- survey::svymean(~factor(outcome), pf_design(estimates, "district"))
  expect_equal(as.vector(coef(found)), advised$estimate)
  expect_equal(as.vector(survey::SE(found)), advised$standard_error)
  for (wrong in list("age", 0, 3, NA)) expect_error(pf_design(estimates, wrong), "housing, district")
  expect_error(pf_design(pf_estimate(file, "housing", bootstraps = 10)), "weights = TRUE")
})
