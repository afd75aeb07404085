"""Language models on edge boards: read their headers, and predict memory, speed and energy."""
