"""Parts of the curriculum; the door is `coding_framework.data.curriculum_manager`."""
