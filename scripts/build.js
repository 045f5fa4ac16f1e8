// Builds what the node runs: the engine (AssemblyScript to WebAssembly) the bundle of its sources, the explorer's pages. npm run build, and after npm ci.
import { buildEngine, canBuildEngine } from './buildEngine.js'
import { buildNode } from './buildNode.js'
import { buildWeb } from './buildWeb.js'
import { trimPackages } from './trimPackages.js'

const IS_INSTALL = process.env.npm_lifecycle_event === 'prepare'

try {
  await buildEngine()
  await buildNode()
  await buildWeb()
} catch (error) {
  console.error(`coind: ${error.message}`)
  // npm ci --omit=dev runs this too and must not fail: a start without the engine reports it
  if (!IS_INSTALL || canBuildEngine()) process.exitCode = 69
}
if (IS_INSTALL) trimPackages()
