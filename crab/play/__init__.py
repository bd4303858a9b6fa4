"""A person does a task in the browser: the agent `human`, and the page on which it is asked what to do."""
