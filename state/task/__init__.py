"""What things are (`Task`, `Field`) and what is wanted (`Policy`): declared, and kept with the
playbook. Nothing here looks at the name of a field.
"""
