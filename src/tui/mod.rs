//! The screens: what an operator sees and does while runs go on.
