import { bytesToHex, equalBytes, hexToBytes } from '../../src/primitives/bytes.ts'
import { findImplementation, findProxy, storeProxy } from '../verify/proxies.ts'
import { findVerified, listVerified } from '../verify/verifiedContracts.ts'
import { type Action, actionsOf, failed, ok } from './action.ts'
import { RequestError } from './parameters.ts'

/* The actions of the module `contract` with which tools say that a contract is a proxy. */

const NOT_DETECTED = 'A corresponding implementation contract was unfortunately not detected for the proxy address.'

/**
 * Links a proxy to its implementation, as the node has it now. The sources of both must be known, except those of a clone (ERC-1167), whose
 * code names the implementation itself. The receipt is the two addresses, so it needs no record.
 */
const verifyproxycontract: Action = async (parameters, { node, services, queries, takeTurn }) => {
  const proxy = parameters.address('address')
  const expected = parameters.optionalAddress('expectedimplementation')
  const found = await takeTurn(() => findImplementation(node, proxy))
  if (found === undefined) return failed(NOT_DETECTED)
  const { implementation, isClone } = found
  if (expected !== undefined && !equalBytes(expected, implementation)) {
    return failed(
      `The implementation of the proxy is ${bytesToHex(implementation)}, and not ${bytesToHex(expected)} as expected.`,
    )
  }
  const verified = await listVerified({ services, queries }, [proxy, implementation])
  const isVerified = (address: Uint8Array): boolean => verified.some((own) => equalBytes(own.address, address))
  if (!isClone && !isVerified(proxy)) return failed(notVerified('proxy', proxy))
  if (!isVerified(implementation)) return failed(notVerified('implementation', implementation))
  await storeProxy(services, proxy, implementation, Date.now())
  return ok(`${bytesToHex(proxy)}${bytesToHex(implementation)}`.replaceAll('0x', ''))
}

function notVerified(which: 'proxy' | 'implementation', address: Uint8Array): string {
  return `The ${which} contract at ${bytesToHex(address)} does not seem to be verified. Please verify and publish the contract source before proceeding with this proxy verification.`
}

const checkproxyverification: Action = async (parameters, { services, queries }) => {
  const guid = parameters.text('guid')?.toLowerCase()
  if (guid === undefined) throw new RequestError('Error! Missing guid')
  const [, address, expected] = /^([0-9a-f]{40})([0-9a-f]{40})$/.exec(guid) ?? []
  if (address === undefined || expected === undefined) return failed('Unknown GUID')
  const proxy = hexToBytes(`0x${address}`)
  const implementation = await findProxy(services, proxy, await findVerified({ services, queries }, proxy))
  if (implementation === undefined || bytesToHex(implementation) !== `0x${expected}`) return failed('Unknown GUID')
  return ok(`The proxy's (0x${address}) implementation contract is found at 0x${expected} and is successfully updated.`)
}

export const PROXY_CONTRACT_ACTIONS = actionsOf({ verifyproxycontract, checkproxyverification })
