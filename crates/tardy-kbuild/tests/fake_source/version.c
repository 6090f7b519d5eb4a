int version = 1;
