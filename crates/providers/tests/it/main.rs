//! Codecs, driver and scripted models from outside.
