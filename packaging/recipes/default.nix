# Nix: put the sdist beside this file, then nix-build. The crates come with the sources.
{ pkgs ? import <nixpkgs> { } }:
let
  python = pkgs.python313Packages;
in
python.buildPythonApplication rec {
  pname = "seekwise";
  version = "0.2.0.dev0";
  pyproject = true;
  src = ./. + "/seekwise-${version}.tar.gz";
  nativeBuildInputs = [
    pkgs.cargo
    pkgs.rustc
  ];
  build-system = [ pkgs.maturin python.maturin ];
  dependencies = [
    python.backports-zstd
    python.click
    python.jinja2
    python.numpy
    python.pydantic
    python.rich
  ];
  makeWrapperArgs = [ "--suffix PATH : ${pkgs.lib.makeBinPath [ pkgs.fio ]}" ];
  pythonImportsCheck = [ "seekwise.cli.main" ];
  meta = {
    description = "Tells which I/O settings a storage system should use";
    license = with pkgs.lib.licenses; [ mit asl20 ];
    platforms = pkgs.lib.platforms.linux;
    mainProgram = "seekwise";
  };
}
