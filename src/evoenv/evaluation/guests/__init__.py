"""What runs inside the sandbox's processes while grading. Read from their files there, never imported by the host."""
