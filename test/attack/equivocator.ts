/**
 * Loaded into a validator before its own sources (`node --import`), it makes it one that votes for two values, each to half of its peers:
 * its transport is that of equivocatingTransport.ts. Everything else of the node is as it is.
 */
import { registerHooks } from 'node:module'

const TRANSPORT = new URL('equivocatingTransport.ts', import.meta.url).href
/** Where the main thread takes its transport from. */
const USER = '/src/node/roles/main/runNode.ts'

registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const isReplaced = specifier === './networkTransport.ts' && context.parentURL?.endsWith(USER) === true
    return isReplaced ? { url: TRANSPORT, shortCircuit: true } : nextResolve(specifier, context)
  },
})
