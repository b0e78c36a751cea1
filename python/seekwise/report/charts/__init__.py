"""Pictures: `panels` draws small multiples for pages and `files`, `live_svg` losses, time series and latencies; `plot`
pictures of fixed size of a trace."""
