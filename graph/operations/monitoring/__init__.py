"""How a playbook and its service are watched: the doctor, drift and alerts, logs."""
