import { defineMethod } from './method.ts'

/** The namespaces that the node serves. */
const NAMESPACES = ['debug', 'eth', 'net', 'rpc', 'txpool', 'web3'] as const

/** geth's list of namespaces with their versions, which never changed. */
export const rpcModules = defineMethod({
  name: 'rpc_modules',
  queue: 'socket',
  run: () => Object.fromEntries(NAMESPACES.map((name) => [name, '1.0'])),
})
