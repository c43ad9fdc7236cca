"""HTTP as ad servers speak it, and as those do who wish us ill."""
