"""What labelled cases prove about rules: pure mathematics over columns of cases, without I/O."""
