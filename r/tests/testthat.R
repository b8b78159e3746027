library(testthat)
library(peerfront)

test_check("peerfront")
