import { posix, win32 } from 'node:path'

/** Where on a machine a client looks for its settings. */
export interface Place {
  platform: NodeJS.Platform
  env: Record<string, string | undefined>
  home: string
  /** The project folder. */
  cwd: string
}

/** Joins by the rules of the machine that is meant, which in a test is not this one. */
export const at = ({ platform }: Place, folder: string, ...names: string[]): string =>
  (platform === 'win32' ? win32 : posix).join(folder, ...names)

/** The folder that a variable names, where it is set. */
export const folderOf = ({ env }: Place, variable: string): string | undefined => env[variable]?.trim() || undefined

/** Where programs of this person keep settings, as the XDG Base Directory Specification says; used on every system by some. */
export const xdgConfig = (place: Place): string => folderOf(place, 'XDG_CONFIG_HOME') ?? at(place, place.home, '.config')

/** Where a desktop application keeps them. */
export function appData (place: Place): string {
  if (place.platform === 'win32') return folderOf(place, 'APPDATA') ?? at(place, place.home, 'AppData', 'Roaming')
  if (place.platform === 'darwin') return at(place, place.home, 'Library', 'Application Support')
  return xdgConfig(place)
}
