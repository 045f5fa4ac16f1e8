/*
 * Messages with which a proposal changes parameters. Each replaces all parameters of its module, so it begins with those that are in
 * force, in the JSON that the node writes and reads.
 */

type Message = Readonly<Record<string, unknown>>

/** Account of governance, which alone may send these messages: `gov` hashed, the same on every chain. */
export const GOV_ACCOUNT = 'coin10d07y265gmmuvt4z0w9aw880jnsr700j3035cq'

/** The types of the messages, by the modules' names in the API. */
export const PARAMETER_MESSAGES: Readonly<Record<string, string>> = {
  auth: '/cosmos.auth.v1beta1.MsgUpdateParams',
  bank: '/cosmos.bank.v1beta1.MsgUpdateParams',
  distribution: '/cosmos.distribution.v1beta1.MsgUpdateParams',
  feemarket: '/cosmos.evm.feemarket.v1.MsgUpdateParams',
  gov: '/cosmos.gov.v1.MsgUpdateParams',
  mint: '/cosmos.mint.v1beta1.MsgUpdateParams',
  slashing: '/cosmos.slashing.v1beta1.MsgUpdateParams',
  staking: '/cosmos.staking.v1beta1.MsgUpdateParams',
}

/** @param params all of the module's, as the node tells them */
export function parameterChange(module: string, params: Message): Message {
  return { '@type': PARAMETER_MESSAGES[module], authority: GOV_ACCOUNT, params }
}

/**
 * Reads messages that a person has written.
 * @returns the messages, or what is wrong with the text
 */
export function readMessages(text: string): readonly Message[] | string {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch (error) {
    return `The messages are not valid JSON: ${(error as Error).message}`
  }
  const messages: readonly unknown[] = Array.isArray(read) ? read : [read]
  const isMessage = (each: unknown): each is Message =>
    typeof each === 'object' && each !== null && typeof (each as Message)['@type'] === 'string'
  return messages.every(isMessage) ? messages : 'Each message must be an object with its type in "@type".'
}
