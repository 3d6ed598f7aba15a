"""Large rearrangements in stages: L1Bs sort what they have, exchange whole blocks, and sort what they got."""
