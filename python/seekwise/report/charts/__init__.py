"""Pictures: `panels` draws small multiples for pages and `files`, `live_svg` losses, time series and latencies; diagrams and traces are Altair's."""
