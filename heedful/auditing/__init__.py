"""An audit: what is audited, the tests over its texts, and the public function."""
