"""What labelled cases prove about rules: pure mathematics over columns, without I/O."""
