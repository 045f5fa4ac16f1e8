/**
 * Loaded into a node before its own sources (`node --import`), it makes the node one that proposes whatever a test wants: its application is
 * that of unboundedApplication.ts. Everything else of the node is as it is.
 */
import { registerHooks } from 'node:module'

const APPLICATION = new URL('unboundedApplication.ts', import.meta.url).href
/** Where the main thread takes its application from. */
const USER = '/src/node/roles/main/runNode.ts'

registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const isReplaced = specifier === './executorApplication.ts' && context.parentURL?.endsWith(USER) === true
    return isReplaced ? { url: APPLICATION, shortCircuit: true } : nextResolve(specifier, context)
  },
})
