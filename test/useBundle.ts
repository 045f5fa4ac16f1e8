import { execFileSync } from 'node:child_process'

/** What runs `coind` runs the bundle, as operators do: it is made before, where the sources have changed. */
export function setup(): void {
  execFileSync(process.execPath, [new URL('../scripts/build.js', import.meta.url).pathname], { stdio: 'inherit' })
}
