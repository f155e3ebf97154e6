"""The numpy records that kernels read and write."""
