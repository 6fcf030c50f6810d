export function PicturesPane() {
  return null;
}
