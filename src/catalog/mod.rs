//! Models: family, price card, limits, retirement.
