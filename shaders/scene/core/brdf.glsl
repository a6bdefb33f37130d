// SPDX-License-Identifier: Apache-2.0
//
// One lobe of each sort: Lambert, and GGX with a Schlick Fresnel term. Every light source of the
// scene, baked or live, ends here.
//
// A response is two numbers: how much comes back in the surface's own colour, and how much in
// white. They stand for the diffuse and specular colours together, so that nothing wider than the
// albedo and the metalness stays alive from one light to the next.
#ifndef SCENE_CORE_BRDF_GLSL
#define SCENE_CORE_BRDF_GLSL

const float kPi = 3.14159265;

const float kDielectric = 0.04;  // reflectance of anything but metal, seen head on

struct Lobes {
    vec3 albedo;
    float metalness;
    float alpha;  // roughness squared
};

Lobes LobesOf(vec3 albedo, float metalness, float roughness) {
    return Lobes(albedo, metalness, max(roughness * roughness, 0.002));
}

// Schlick's weight: 0 head on, 1 at grazing angles.
float Grazing(float cosine) {
    float k = 1.0 - clamp(cosine, 0.0, 1.0);
    float k2 = k * k;
    return k2 * k2 * k;
}

// `mirror`: what a perfect mirror would return.
vec2 SpecularResponse(Lobes lobes, float mirror, float grazing) {
    float bare = mirror * (1.0 - grazing);
    return vec2(bare * lobes.metalness,
                bare * kDielectric * (1.0 - lobes.metalness) + mirror * grazing);
}

float DiffuseShare(Lobes lobes) { return (1.0 - kDielectric) * (1.0 - lobes.metalness) / kPi; }

// GGX with its shadowing, for a light in direction `light`.
vec2 Highlight(Lobes lobes, vec3 normal, vec3 view, vec3 light, float nl) {
    float nv = max(dot(normal, view), 1e-3);
    vec3 halfway = normalize(view + light);
    float nh = clamp(dot(normal, halfway), 0.0, 1.0);
    float a2 = lobes.alpha * lobes.alpha;
    float spread = nh * nh * (a2 - 1.0) + 1.0;
    float distribution = a2 / (kPi * spread * spread);
    float k = lobes.alpha * 0.5;
    float shadowing = 1.0 / (4.0 * (nl * (1.0 - k) + k) * (nv * (1.0 - k) + k));
    float mirror = distribution * shadowing * nl;
    return SpecularResponse(lobes, mirror, Grazing(dot(view, halfway)));
}

// Response per unit irradiance of a light in direction `light`.
vec2 Response(Lobes lobes, vec3 normal, vec3 view, vec3 light) {
    float nl = clamp(dot(normal, light), 0.0, 1.0);
    vec2 response = Highlight(lobes, normal, view, light, nl);
    response.x += DiffuseShare(lobes) * (1.0 - Grazing(nl)) * nl;
    return response;
}

// Response of the specular lobe to light from all around.
vec2 SurroundingResponse(Lobes lobes, float nv) {
    float smoothness = 1.0 - sqrt(lobes.alpha);
    return SpecularResponse(lobes, 0.6 + 0.4 * smoothness, Grazing(nv) * smoothness);
}

vec3 Reflected(Lobes lobes, vec2 response) { return lobes.albedo * response.x + response.y; }

#endif
