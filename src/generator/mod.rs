//! Load generators that people install beside hotlap, one file for each: its
//! command line, and its output as a record of a load. There is none in
//! this version; every load is made by the built-in one, and `generator` in a
//! suite is refused before anything starts.
