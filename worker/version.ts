import { version } from '../package.json'

/** Ready Room's own version. */
export const VERSION: string = version
