"""Export: a trained bot as a bundle of files that front ends in any language can play.

`bundle` writes a bundle, `verify` checks one, `manifest` says what stands in one, `weights` and
`onnx_model` hold the network, `vectors` the examples, `runtimes` what runs outside this project.
"""
