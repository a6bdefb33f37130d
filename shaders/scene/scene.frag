#version 460
// SPDX-License-Identifier: Apache-2.0
//
// The scene shader: one text for every surface. Read main() as the table of contents; each step
// is a file of that name. Whatever a variant may leave out is under blocks/ and tests its bit
// (features.glsl) and its gate (gates.glsl); the rest is in every variant.
#extension GL_GOOGLE_include_directive : require

#include "blocks/blend_mask.glsl"
#include "blocks/debug_views.glsl"
#include "blocks/decals.glsl"
#include "blocks/detail.glsl"
#include "blocks/height.glsl"
#include "blocks/lightmap.glsl"
#include "blocks/player_shadow.glsl"
#include "blocks/screen_occlusion.glsl"
#include "blocks/sun_shadows.glsl"
#include "blocks/water.glsl"
#include "core/base.glsl"
#include "core/brdf.glsl"
#include "core/coverage.glsl"
#include "core/indirect.glsl"
#include "core/lights.glsl"
#include "core/sky.glsl"
#include "core/uv.glsl"
#include "kinds.glsl"

layout(location = 0) out vec4 scene_colour;

// `sunlight`: the share of the sun that the relief lets through. Light is summed as it comes, the
// loop over local lights last, so that little is alive around any one block.
vec3 Shade(Surface surface, Footprint at, float sunlight) {
    Lobes lobes = LobesOf(surface.albedo, surface.metalness, surface.roughness);
    float eye_distance = EyeDistance(world_position);
    vec3 view = (frame.eye.xyz - world_position) / max(eye_distance, 1e-4);
    vec2 grounding = PlayerShadow();
    vec3 daylight = WaterDaylight();
    Terms terms;
    terms.normal = WorldNormal(surface.slope);

    terms.irradiance = SurroundingIrradiance(terms.normal);
    vec3 highlight = ReadLightmap(lobes, terms.normal, view, terms.irradiance);
    terms.open = surface.occlusion * ScreenOcclusion() * grounding.y;
    vec2 response = SurroundingResponse(lobes, dot(terms.normal, view));
    terms.reflected = MirroredRadiance(terms.normal, view, surface.roughness, terms.irradiance) *
                      Reflected(lobes, response) + highlight;
    vec3 around = lobes.albedo * DiffuseShare(lobes) * terms.irradiance + terms.reflected;
    vec3 colour = surface.emissive + around * daylight * terms.open;

    vec3 before = colour;
    AddLocalLights(lobes, terms.normal, view, eye_distance, colour);
    terms.local = colour - before;

    float share = SunVisibility() * sunlight * grounding.x;
    terms.sunlight = SunLight(lobes, terms.normal, view, daylight * share);
    colour += terms.sunlight;

    colour = AerialPerspective(UnderwaterFog(colour), view, eye_distance);
    return DebugView(colour, surface, at, terms);
}

void main() {
    Footprint at = BaseFootprint();
    float sunlight = ApplyRelief(at);
    Surface surface = BaseSurface(at);
    bool covered = Covered(surface.alpha);

    scene_colour = vec4(0.0);
    if (Kind != kKindDepth) {
        BlendSecondLayer(surface, at);
        ApplyDetail(surface, at);
        ApplyDecals(surface);
        float alpha = Kind == kKindBlended ? surface.alpha : 1.0;
        scene_colour = vec4(Shade(surface, at, sunlight), alpha);
    }
    // Last, so that every derivative above is taken over whole quads.
    if (!covered) {
        discard;
    }
}
