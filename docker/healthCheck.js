// Health check of the container: succeeds when the node or the explorer answers. A node must decide blocks, catch up with its
// peers, or still be starting. An explorer needs its index, whether or not its node answers.
const port = process.argv[2] ?? (process.env.RPC_PORT || '8080')
try {
  const response = await fetch(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(4_000) })
  const { catchingUp } = await response.json()
  process.exitCode = response.ok || catchingUp ? 0 : 1
} catch {
  process.exitCode = 1
}
