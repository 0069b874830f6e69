"""Read transactions and sentences: fields, words, numbers. No model or database is asked."""
