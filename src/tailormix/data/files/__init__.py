"""Files of data sets: where they are stored, and how they are downloaded, unpacked and verified."""
