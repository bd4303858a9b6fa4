"""Chat models behind one request and one response, whoever serves them."""
